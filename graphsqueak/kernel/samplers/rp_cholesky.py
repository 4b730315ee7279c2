"""RPCholesky: landmarks by randomly pivoted Cholesky (`pivots`), for points in memory.

Each landmark is drawn by how much of it the previous ones leave unexplained: with the residual
R = K - F F', at first K,

    i is drawn with probability R_ii / trace(R),    F gains the column R e_i / R_ii^1/2,

up to a small part of each probability by the diagonal of K. Pivot k of m, drawn with probability
p_k, has the weight (1 / p_k + m - k) / m. Nystrom features, regression and components use only the
span of the landmarks, and this span is nearly as good as the best one of a few dimensions less
[CETW25]. It needs n m kernel values and n m numbers of memory. The weights have expectation 1 like
those of the other samplers, with more variance.

References
----------
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
"""

from dataclasses import dataclass

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.pivots import draw_pivots, pivot_weights
from graphsqueak.kernel.samplers.batch import BatchDictionary
from graphsqueak.validation import check_count


@dataclass(kw_only=True, eq=False, repr=False)
class RPCholesky(BatchDictionary):
    """Randomly pivoted Cholesky, for the best span of a number of landmarks.

    Use it for Nystrom features, regression and components if all points are in memory. For streams,
    use `SQUEAK` or `KORS`; if the weights matter, a sampler by leverage scores.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma at which `accuracy` is measured. The draws do not depend on it.
    n_landmarks : int
        Number of landmarks (all points, if there are fewer).
    block_size : int, optional
        Proposals at a time, some of which are rejected. With 1, landmarks are drawn one by one;
        larger blocks are faster and have the same distribution. Default: a tenth of `n_landmarks`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed"), in
        the order of the draws.
    ridge_, n_seen_
        The ridge, and the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = RPCholesky(n_landmarks=3, random_state=7).fit(X)
    >>> sorted(set(d.components_.ravel().tolist()))
    [0.0, 9.0]
    """

    block_size: int | None = None

    def _draw(self, kernel, points, rng):
        if self.n_landmarks is None:
            raise InputError("RPCholesky draws a number of points; give ", Parameter("n_landmarks"))
        block = None if self.block_size is None else check_count("block_size", self.block_size)
        self.n_copies_ = None
        pivots = draw_pivots(kernel, points, self.n_landmarks, rng=rng, block=block)
        return pivots.rows, pivot_weights(pivots.prob)
