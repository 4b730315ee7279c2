"""Baselines: uniform sampling, and sampling by exact scores, which the other samplers approximate.

Use them for comparison: how much is gained by leverage scores (`UniformDictionary`), and how much
is lost by estimating them (`ExactRLS` for samplers that need all points, `StreamingExactRLS` for
those of a stream). Exact scores take O(n^3) time and the whole kernel matrix in memory.

`UniformDictionary` has p_i = 1 / n. It needs n max_i tau_i / d_eff(g) times as many copies [C17,
Proposition 2.3], and misses points that are far from all others. `ExactRLS` has p_i = tau_i [C17,
Corollary 2.9].

`StreamingExactRLS` knows the points up to time t and their exact scores tau_{t,i}:

    SORACLE-RLS-NOREM  [C17, Algorithm 7]: point t gets q_t ~ Binomial(q, tau_{t,t}) copies and the
                       weight q_t / (q tau_{t,t}), and stays. About q d_onl(g) copies.
    SORACLE-RLS-REM    [C17, Algorithm 9]: point t enters with all q copies and p = 1. Then all
                       landmarks are sampled: p_new = tau_{t,i},
                       copies ~ Binomial(copies, p_new / p).
                       About q d_eff(g) copies. The copies of i are then Binomial(q, tau_{t,i}).

Scores never increase with t, so that p_new / p <= 1. (The text on Algorithm 9 prints the opposite
inequality, and calls Algorithm 7 by the name of Algorithm 9.) The regularization, which both
listings call rho, is g.

With K + g I = L L', all scores at all times follow from one factorization: the leading blocks of L
and of L^-1 are those of the leading blocks of K + g I, so that

    tau_{t,i} = 1 - g sum_{i <= s <= t} (L^-1)_{si}^2,

a running sum over the rows of L^-1. Time is O(n^3) and memory n^2.

For every prefix to be accurate with probability 1 - delta, each may fail with probability
delta / n: q = 4 log(4 n^2 / delta) / e^2, as the scores are exact (rho = 1). [C17, Corollaries 3.10
and 3.12] print log(4 n / delta), which covers a single prefix.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Sections 2.2, 3.2.1 and 3.3.1.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import cholesky
from graphsqueak.kernel.leverage import auto_ridge, matrix_leverage
from graphsqueak.kernel.samplers.batch import BatchDictionary
from graphsqueak.kernel.samplers.dictionary import Dictionary
from graphsqueak.kernel.samplers.merging import Landmarks


class UniformDictionary(BatchDictionary):
    """Uniform sampling: the baseline that does not look at the points.

    Use it to see what leverage scores gain, or for points that are all alike. It computes no kernel
    values, and misses points that are far from all others.

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
        q, copies per point, instead of those of `budget`. Not with `n_landmarks`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability of a worse one with budget="theory".
    budget : {"practical", "theory"}
        q: an upper bound of n max_i tau_i times log(n) / epsilon^2, or the number in the proof.
    scheme : {"binomial", "bernoulli"}
        Binomial copies, or each point once, with probability min(1, q p_i). Ignored with
        `n_landmarks`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_landmarks`), and the number of points.

    Examples
    --------
    >>> d = UniformDictionary(n_landmarks=2, random_state=7).fit(np.arange(10.0)[:, None])
    >>> d.weights_
    array([5., 5.])
    """

    def _draw(self, kernel, points, rng):
        n_points = len(points)
        largest = kernel.diag(points).max()
        # An upper bound of n max_i tau_i.
        coherence = n_points * largest / (largest + self.ridge_)
        self.n_copies_ = self._count_copies(n_points, rho=1.0, scale=coherence)
        return self._sample(np.full(n_points, 1 / n_points), self.n_copies_, rng)


class ExactRLS(BatchDictionary):
    """Sampling by exact ridge leverage scores, in O(n^3): the ideal of the other samplers.

    Use it for a few thousand points, or to see what estimated scores cost in accuracy.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only: the
        effective dimension is a quarter of `n_landmarks`.
    n_landmarks : int, optional
        Number of landmarks (all points, if there are fewer). Default: determined by the copies.
    n_copies : int, optional
        Copies per point, instead of those of `budget`. Not with `n_landmarks`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability of a worse one with budget="theory".
    budget : {"practical", "theory"}
        q: log(n) / epsilon^2, or the number in the proof.
    scheme : {"binomial", "bernoulli"}
        Binomial copies, or each point once, with probability min(1, q p_i). Ignored with
        `n_landmarks`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_landmarks`), and the number of points.

    Examples
    --------
    A point far from a thousand equal ones is almost certain to be kept:

    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = ExactRLS(ridge=0.1, n_landmarks=2, random_state=7).fit(X)
    >>> 1000 in d.indices_
    True
    """

    def _find_ridge(self, kernel, points, rng):
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        return auto_ridge(kernel(points, points), self.n_landmarks)

    def _draw(self, kernel, points, rng):
        self.n_copies_ = self._count_copies(len(points), rho=1.0)
        score = matrix_leverage(kernel(points, points), self.ridge_)
        return self._sample(score, self.n_copies_, rng)


@dataclass(kw_only=True, eq=False, repr=False)
class StreamingExactRLS(Dictionary):
    """Sampling of a stream by exact ridge leverage scores, in O(n^3): the ideal of KORS and SQUEAK.

    Use it to see what estimated scores cost `KORS` and `SQUEAK` in accuracy. Points are sampled in
    their order, each by its score among the points so far. All points and their kernel matrix are
    in memory.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float
        gamma > 0, in the units of the eigenvalues of K.
    n_landmarks : None
        Not available: the copies determine the number of landmarks.
    removal : bool
        Whether landmarks are dropped again when their score decreases [C17, Algorithm 9, the ideal
        of `SQUEAK`], or stay [C17, Algorithm 7, the ideal of `KORS`].
    n_copies : int, optional
        q, copies per point, instead of those of `budget`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability that some prefix is less accurate with
        budget="theory".
    budget : {"practical", "theory"}
        q: log(n) / epsilon^2, or 4 log(4 n^2 / delta) / epsilon^2.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies, and the number of points.

    Examples
    --------
    The first of a thousand equal points has the score 1 / 1.1 and stays, if nothing is removed:

    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> stay = StreamingExactRLS(ridge=0.1, n_copies=5, removal=False, random_state=7).fit(X)
    >>> dropped = StreamingExactRLS(ridge=0.1, n_copies=5, random_state=7).fit(X)
    >>> len(stay.indices_) > 2 * len(dropped.indices_), 1000 in dropped.indices_
    (True, True)
    """

    removal: bool = True

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Sample a dictionary of the rows of X, in their order.

        With the same `random_state` and `n_copies`, a fit to the first rows of X returns the
        dictionary that the algorithm has after these rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        self._check()
        if self.n_landmarks is not None:
            raise InputError(
                Parameter("n_landmarks"),
                " is not available here, the copies decide; give n_copies or budget",
            )
        kernel, points = self._bind(X, reset=True)
        rng = np.random.default_rng(self.random_state)
        self.ridge_ = float(self.ridge)
        self.n_seen_ = len(points)
        self.n_copies_ = self._count_copies(len(points), rho=1.0, n_draws=len(points))
        sample = _with_removal if self.removal else _without_removal
        rows, weights = sample(kernel(points, points), self.ridge_, self.n_copies_, rng)
        self._selected = Landmarks(rows, points[rows], weights)
        return self

    def _landmarks(self):
        return self._selected


def _without_removal(K, ridge, n_copies, rng):
    """Return row numbers and weights of [C17, Algorithm 7]."""
    pivot = np.diagonal(cholesky(K, ridge)) ** 2
    # The t-th squared pivot of K + g I is g / (1 - tau_{t,t}). A probability of 0 has no weight.
    p = np.clip(1 - ridge / pivot, np.finfo(np.float64).eps, 1.0)
    copies = rng.binomial(n_copies, p)
    rows = np.flatnonzero(copies)
    return rows, copies[rows] / (n_copies * p[rows])


def _with_removal(K, ridge, n_copies, rng):
    """Return row numbers and weights of [C17, Algorithm 9]."""
    n = len(K)
    inverse = scipy.linalg.solve_triangular(cholesky(K, ridge), np.eye(n), lower=True)
    # g times the diagonal of the inverse of the leading block, 1 - tau_{t,i}.
    complement = np.zeros(n)
    p = np.ones(n)
    copies = np.zeros(n, dtype=np.int64)
    for t in range(n):
        # 4: expand.
        copies[t] = n_copies
        complement[: t + 1] += ridge * inverse[t, : t + 1] ** 2
        kept = np.flatnonzero(copies[: t + 1])
        # 6: the scores never increase, up to rounding.
        tau = np.clip(1 - complement[kept], np.finfo(np.float64).eps, p[kept])
        # 7: shrink.
        copies[kept] = rng.binomial(copies[kept], tau / p[kept])
        p[kept] = tau
    rows = np.flatnonzero(copies)
    return rows, copies[rows] / (n_copies * p[rows])
