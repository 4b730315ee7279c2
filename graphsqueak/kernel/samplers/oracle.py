"""The oracle samplers of a stream: exact ridge leverage scores among the points so far.

They are the yardsticks of KORS and SQUEAK, which replace the oracle by an estimate from the
dictionary itself. At time t the oracle knows the points up to t, and their scores tau_{t,i}.

    SORACLE-RLS-NOREM  [C17, Algorithm 7]: point t gets q_t ~ Binomial(q, tau_{t,t}) copies and the
                       weight q_t / (q tau_{t,t}), and stays. About q d_onl(g) copies.
    SORACLE-RLS-REM    [C17, Algorithm 9]: point t enters with all q copies and p = 1. Then all
                       atoms are sampled: p_new = tau_{t,i}, copies ~ Binomial(copies, p_new / p).
                       About q d_eff(g) copies. The copies of i are then Binomial(q, tau_{t,i}).

Scores never rise with t, so p_new / p <= 1 (the text on Algorithm 9 prints the inequality the other
way round, and calls Algorithm 7 by the name of Algorithm 9). The regularization, which both
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
      PhD thesis, 2017, Sections 3.2.1 and 3.3.1.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import cholesky
from graphsqueak.kernel.samplers.atoms import Atoms
from graphsqueak.kernel.samplers.dictionary import Dictionary

__all__ = ["StreamingExactRLS"]


@dataclass(kw_only=True, eq=False, repr=False)
class StreamingExactRLS(Dictionary):
    """Exact ridge leverage scores of a stream, at O(n^3): the oracles of KORS and SQUEAK.

    Points are sampled in their order, each by its score among the points so far. It is a baseline:
    all points and their kernel matrix are in memory.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float
        gamma > 0, in the units of the eigenvalues of K.
    n_components : None
        Not available: the copies decide how many atoms there are.
    removal : bool
        Whether atoms are dropped again when their score falls [C17, Algorithm 9, the oracle of
        `SQUEAK`], or stay [C17, Algorithm 7, the oracle of `KORS`].
    n_copies : int, optional
        q, copies per point, instead of `budget`'s.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability that some prefix is less accurate.
    budget : {"practical", "theory"}
        q by log(n) / epsilon^2, or 4 log(4 n^2 / delta) / epsilon^2.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies, and how many points were seen.

    Examples
    --------
    The first of a thousand equal points has the score 1 / 1.1 and stays, if nothing is removed:

    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> kept = StreamingExactRLS(ridge=0.1, n_copies=5, removal=False, random_state=7).fit(X)
    >>> thinned = StreamingExactRLS(ridge=0.1, n_copies=5, random_state=7).fit(X)
    >>> len(kept.indices_) > 2 * len(thinned.indices_), 1000 in thinned.indices_
    (True, True)
    """

    removal: bool = True

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Sample a dictionary of the rows of X, in their order.

        With the same `random_state` and `n_copies`, the first rows of X give the dictionary that
        the algorithm has after them.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        self._check()
        if self.n_components is not None:
            raise InputError(
                Parameter("n_components"),
                " is not available here, the copies decide; give n_copies or budget",
            )
        kernel, points = self._bind(X, reset=True)
        rng = np.random.default_rng(self.random_state)
        self.ridge_ = float(self.ridge)
        self.n_seen_ = len(points)
        self.n_copies_ = self._copies(len(points), rho=1.0, n_draws=len(points))
        sample = _with_removal if self.removal else _without_removal
        rows, weight = sample(kernel(points, points), self.ridge_, self.n_copies_, rng)
        self._atoms = Atoms(rows, points[rows], weight)
        return self

    def _kept_atoms(self):
        return self._atoms


def _without_removal(K, ridge, n_copies, rng):
    """[C17, Algorithm 7]: row numbers and weights."""
    pivot = np.diagonal(cholesky(K, ridge)) ** 2
    # The t-th pivot of K + g I is g / (1 - tau_{t,t}). A probability of 0 has no weight.
    p = np.clip(1 - ridge / pivot, np.finfo(np.float64).eps, 1.0)
    copies = rng.binomial(n_copies, p)
    rows = np.flatnonzero(copies)
    return rows, copies[rows] / (n_copies * p[rows])


def _with_removal(K, ridge, n_copies, rng):
    """[C17, Algorithm 9]: row numbers and weights."""
    n = len(K)
    inverse = scipy.linalg.solve_triangular(cholesky(K, ridge), np.eye(n), lower=True)
    gone = np.zeros(n)  # g times the diagonal of the inverse of the leading block
    p = np.ones(n)
    copies = np.zeros(n, dtype=np.int64)
    for t in range(n):
        copies[t] = n_copies  # 4: expand
        gone[: t + 1] += ridge * inverse[t, : t + 1] ** 2
        kept = np.flatnonzero(copies[: t + 1])
        tau = np.clip(1 - gone[kept], np.finfo(np.float64).eps, p[kept])  # 6
        copies[kept] = rng.binomial(copies[kept], tau / p[kept])  # 7: shrink
        p[kept] = tau
    rows = np.flatnonzero(copies)
    return rows, copies[rows] / (n_copies * p[rows])
