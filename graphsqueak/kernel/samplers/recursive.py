"""Recursive ridge leverage score sampling: scores from a dictionary of half of the points [MM17].

    rec(S):  if S is small, return all of S with weight 1
             keep each point of S with probability 1/2, and let I = rec(these points)
             l_i = (3/2) raw_i from I, for all i in S
             keep i with probability p_i = min(1, c l_i), c = 16 log(sum l / delta), weight 1 / p_i

with W = diag of the weights of I and

    raw_i = (k_ii - k_I(x_i)' (K_II + g W^-1)^-1 k_I(x_i)) / g.

I is not an accurate dictionary of S, only of a half of it that is not reweighted. The proof works
because l_i is an upper bound of tau_i. [C17, Algorithm 6] asks for Eq. 3.2 with e = 1/2, whose
factor 1 - e is that of a lower bound; the factor here is 1 + e. Its two listings also disagree on
16 and 32.

References
----------
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
[MM17] Musco, Musco. Recursive sampling for the Nystrom method. NeurIPS 2017.
"""

import math

import numpy as np

from graphsqueak.kernel.leverage import estimate_leverage, weighted_gram
from graphsqueak.kernel.samplers.batch import BatchDictionary

# Points that are all kept, without a recursion; budget="theory" has the number in the proof. Halved
# or doubled, the recursion has one level more or less.
SMALL_SIZE = 16


class RecursiveRLS(BatchDictionary):
    """Recursive sampling by upper bounds of the scores, from half of the points.

    Use it in place of `ManyStepRLS` if no ridge is known: with ridge="auto", each level has one
    that suits its points.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` = m only: every
        level has the ridge (tr K_hat - its k largest eigenvalues) / k, with k = m / (4 log m).
    n_landmarks : int, optional
        Number of landmarks m, by the fixed-size form of the authors: c = log(m) below the top.
    epsilon : float in (0, 1)
        Ignored: the proof is for 1/2.
    budget : {"practical", "theory"}
        "practical" leaves out the 16 of c, and the 192 of the size below which all points are kept.
    delta : float in (0, 1)
        Probability of a worse accuracy.
    n_copies : int, optional
        c. Not with `n_landmarks`.
    scheme : {"binomial", "bernoulli"}
        Ignored: a point is kept once or not at all.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge and the c of the top level (None with `n_landmarks`), and the number of points.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = RecursiveRLS(ridge=0.1, n_landmarks=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _find_ridge(self, kernel, points, rng):
        # "auto" is resolved at each level.
        return None if isinstance(self.ridge, str) else float(self.ridge)

    def _draw(self, kernel, points, rng):
        # Down the recursion: each level has half of the points of the one before.
        halves = [np.arange(len(points))]
        while halves[-1].size > self._small_size(len(halves)):
            halves.append(halves[-1][rng.random(halves[-1].size) < 0.5])
        rows = halves.pop()
        weights = np.ones(rows.size)
        self.n_copies_ = None
        ridge = self._level_ridge(kernel, points[rows], weights)
        # Up again: each level is scored with the dictionary of its half.
        while halves:
            level = halves.pop()
            bound = estimate_leverage(
                kernel,
                points[level],
                points[rows],
                weights,
                ridge=ridge,
                epsilon=0.5,
                side="over",
            )
            is_top = not halves
            if is_top and self.n_landmarks is not None:
                chosen, weights = self._sample(bound, None, rng)
            else:
                copies = self._level_copies(bound, depth=len(halves))
                prob = np.minimum(copies * bound, 1.0)
                chosen = np.flatnonzero(rng.random(level.size) < prob)
                weights = 1 / prob[chosen]
                if is_top:
                    self.n_copies_ = copies
            rows = level[chosen]
            if not is_top:
                ridge = self._level_ridge(kernel, points[rows], weights)
        self.ridge_ = ridge
        return rows, weights

    def _small_size(self, depth):
        """Return the number of points that are all kept, at this depth of the recursion."""
        if self.n_landmarks is not None:
            return max(SMALL_SIZE, self.n_landmarks)
        if self.budget == "theory":
            return 192 * math.log(3 ** (depth - 1) / self.delta)
        return SMALL_SIZE

    def _level_copies(self, bound, *, depth):
        """Return c of a level, from the upper bounds of its scores."""
        if self.n_landmarks is not None:
            return math.log(max(self.n_landmarks, 3))
        if self.n_copies is not None:
            return self.n_copies
        delta = self.delta / 3**depth
        constant = 16 if self.budget == "theory" else 1
        return constant * math.log(max(bound.sum() / delta, 2.0))

    def _level_ridge(self, kernel, landmarks, weights):
        """Return the ridge for the next level, for "auto" from the eigenvalues of K_hat [MM17]."""
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        eigenvalues = np.linalg.eigvalsh(weighted_gram(kernel(landmarks, landmarks), weights))
        rank = math.ceil(self.n_landmarks / (4 * math.log(max(self.n_landmarks, 3))))
        rest = np.maximum(eigenvalues[:-rank], 0.0).sum() / rank
        # A kernel matrix of low rank leaves no rest.
        return float(max(rest, 1e-12 * eigenvalues.max(initial=1.0)))
